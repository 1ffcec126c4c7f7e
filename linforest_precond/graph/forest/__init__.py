"""[0,n]-factors, linear forests and the bands along them."""
