"""What flows from A to the operator: frozen dataclasses, and how they print."""
