// `alkstore-wasm/testing`: what programs that use the package test themselves with.

export { ManualClock } from "../testing.js"
export type * from "../types.js"
