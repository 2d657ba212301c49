// The soak in a tab of Chromium, whose memory and disk are measured from outside.

import { lstatSync, readdirSync } from "node:fs"
import { join } from "node:path"

/**
 * Begins in `tab`, which has loaded `soak/tab`, on the new database `name`. `profile` is the browser's folder, if what
 * lies on the disk is to be measured.
 */
export async function soakOnIndexedDb(tab, { load, seed, name, options, profile }) {
  const session = await tab.native.context().newCDPSession(tab.native)
  await tab.evaluate((...given) => soak.begin(...given), load, seed, name, options)
  return {
    day: () => tab.evaluate(() => soak.day()),
    end: () => tab.evaluate(() => soak.end()),
    async sample() {
      const sample = await tab.evaluate(() => soak.sample())
      await session.send("HeapProfiler.collectGarbage")
      const { usedSize, embedderHeapUsedSize, backingStorageSize } = await session.send("Runtime.getHeapUsage")
      const { jsEventListeners } = await session.send("Memory.getDOMCounters")
      const heapBytes = usedSize + embedderHeapUsedSize + backingStorageSize
      const disk = profile === undefined ? {} : { diskBytes: bytesIn(join(profile, "Default/IndexedDB")) }
      return { ...sample, heapBytes, pageListeners: jsEventListeners, ...disk }
    }
  }
}

function bytesIn(folder) {
  let bytes = 0
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    // What the database is compacting may be gone by now.
    if (entry.isDirectory()) bytes += bytesIn(path)
    else bytes += lstatSync(path, { throwIfNoEntry: false })?.size ?? 0
  }
  return bytes
}
