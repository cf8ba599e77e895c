// In a file of its own, because index workers need it and nothing else that checks schemas: the checks compile
// validators when they are loaded, which took two fifths of the start of a worker.

/** The schema of documents without a type. No type is written into them. */
export const UNNAMED_TYPE = '_default'
