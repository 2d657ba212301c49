import { EventEmitter, getEventListeners } from "node:events"
import { expect, test } from "vitest"
import { claim, follow, rejection, start, startQueue } from "../shared/support.js"

const USES = 10_000
const listeners = (signal: AbortSignal): number => getEventListeners(signal, "abort").length

test("one long signal has no listener left after 10,000 waits, and Node has no leak to warn of", async () => {
  const warnings: Error[] = []
  const warn = (warning: Error): void => void warnings.push(warning)
  process.on("warning", warn)
  const { queue } = await startQueue()
  const { signal } = new AbortController()
  for (let i = 0; i < USES; i++) {
    const wait = queue.wait(signal)
    await queue.enqueue(null)
    expect(await wait).toBe(true)
    await (await claim(queue)).ack()
  }
  expect(listeners(signal)).toBe(0)
  process.off("warning", warn)
  expect(warnings.filter((warning) => warning.name === "MaxListenersExceededWarning")).toEqual([])
})

test("nor after runs that were refused, stopped or closed", async () => {
  const { store, clock, reopen } = await start()
  const stop = new AbortController()
  const leader = follow(store.runSchedules(stop.signal))
  await clock.settle()
  for (let i = 0; i < 100; i++) await rejection(() => store.runSchedules(stop.signal))
  const other = await reopen()
  const standby = follow(other.runSchedules(stop.signal, { standby: true }))
  await clock.advance("1m")
  await other.close()
  await clock.settle()
  expect(standby.state).toBe("resolved")
  expect(listeners(stop.signal)).toBeLessThanOrEqual(EventEmitter.defaultMaxListeners)
  stop.abort()
  await clock.settle()
  expect(leader.state).toBe("resolved")
  expect(listeners(stop.signal)).toBe(0)
})
