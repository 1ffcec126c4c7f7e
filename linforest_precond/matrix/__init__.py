"""The checked matrix: conversion to CSR, checks, graph, value range, vectors and sparse output."""
