// A Node program without the DOM's types has no WebAssembly namespace: the module's type is looked for.

type Module = typeof globalThis extends { WebAssembly: { Module: { prototype: infer Instance } } } ? Instance : never

/**
 * What `init` of `alkstore-wasm/slim` and `alkstore-wasm/url` takes: the engine's bytes, a compiled module, an address
 * to fetch, a request, a response, or a promise of one of these.
 */
export type InitInput = EngineInput | PromiseLike<EngineInput>
export type EngineInput = ArrayBuffer | ArrayBufferView | Module | string | URL | Request | Response
