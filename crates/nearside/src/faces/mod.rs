//! Faces: one snapshot, many renderings.
