// The script, for pages and workers that load no modules: the default entry and `/indexeddb` as one global.

export * from "./index.js"
export * from "./indexeddb.js"
