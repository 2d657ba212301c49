// Modules that only the build or the platform provides.

declare module "alkstore:engine-text" {
  /** The engine, for `decodeEngine`. */
  export const text: string
  export const unpacker: string
}

declare module "*.wasm" {
  const module: WebAssembly.Module
  export default module
}

declare module "*.wasm?module" {
  const module: WebAssembly.Module
  export default module
}

/** The length of engine.wasm in bytes; set by the build. */
declare const ENGINE_LENGTH: number
