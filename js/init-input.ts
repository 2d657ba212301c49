// Of their own, because a Node program without the DOM's types has no WebAssembly namespace.

/**
 * What `init` of `alkstore-wasm/slim` and `alkstore-wasm/url` takes: the engine's bytes, a compiled module, an address
 * to fetch, a request, a response, or a promise of one of these.
 */
export type InitInput = EngineInput | PromiseLike<EngineInput>
export type EngineInput = ArrayBuffer | ArrayBufferView | WebAssembly.Module | string | URL | Request | Response
