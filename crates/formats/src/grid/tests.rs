//! Shapes of grids, each with what is found in it.
