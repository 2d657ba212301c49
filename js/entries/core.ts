// What all entries share, and share one copy of: the build makes one core file of these modules for each format, and
// entries refer to it. So `instanceof AlkstoreError` holds between the default entry, /testing, /slim and /url.

export * from "../arguments.js"
export * from "../codec.js"
export * from "../errors.js"
export * from "../load.js"
export * from "../storage.js"
export * from "../store.js"
export { FallbackEncoder } from "../text-codec.js"
export * from "../turn.js"
