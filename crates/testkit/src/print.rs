//! Prints topology matrices as the driver does, and as pastes mangle them.
