// The engines that have been started since this module was loaded: how large their memories and tables are.

const memories: WebAssembly.Memory[] = []
const tables: WebAssembly.Table[] = []

const { Instance } = WebAssembly
WebAssembly.Instance = new Proxy(Instance, {
  construct(target, given) {
    const instance = new target(...(given as [WebAssembly.Module, WebAssembly.Imports?]))
    for (const one of Object.values(instance.exports)) {
      if (one instanceof WebAssembly.Memory) memories.push(one)
      if (one instanceof WebAssembly.Table) tables.push(one)
    }
    return instance
  }
})

/** What the engine takes outside the JavaScript heap, and how many JavaScript values it has had in hand at once. */
export function engineSizes(): { engineBytes: number; engineTableSlots: number } {
  return {
    engineBytes: memories.reduce((sum, { buffer }) => sum + buffer.byteLength, 0),
    engineTableSlots: tables.reduce((sum, { length }) => sum + length, 0)
  }
}
