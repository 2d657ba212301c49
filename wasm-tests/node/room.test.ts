// Each time that the engine's memory grows, V8 counts all of it as newly allocated and soon collects everything, so it
// grows by a share of its size, not by the page.

import { open } from "alkstore-wasm"
import { expect, test } from "vitest"

const PAGE = 65_536

test("memory that fills grows seldom", async () => {
  const { Instance } = WebAssembly
  let memory: WebAssembly.Memory | undefined
  WebAssembly.Instance = function (module: WebAssembly.Module, imports?: WebAssembly.Imports) {
    const instance = new Instance(module, imports)
    memory = Object.values(instance.exports).find((each) => each instanceof WebAssembly.Memory)
    return instance
  } as unknown as typeof WebAssembly.Instance
  const store = await open()
  WebAssembly.Instance = Instance
  const { buffer } = memory!
  let [last, times] = [buffer, 0]
  const queue = store.queue("mail")
  const before = buffer.byteLength
  for (let n = 0; n < 20_000; n++) {
    await queue.enqueue(n)
    if (memory!.buffer === last) continue
    last = memory!.buffer
    times += 1
  }
  const pages = (last.byteLength - before) / PAGE
  expect(pages).toBeGreaterThan(40)
  expect(times).toBeLessThan(pages / 3)
  await store.close()
})
