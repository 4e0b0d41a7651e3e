"""Coordinates and rectangles, under the vendor's module names."""
