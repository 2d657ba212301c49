// A browser that is killed while its page works, and started again on what it has left on disk.

import { removeFolder, temporaryFolder } from "./processes.mjs"

/** One profile, and the browsers that are started on it one after the other. */
export class Restartable {
  #profile = temporaryFolder({ onDisk: true })
  #browser = null

  constructor(engine, server) {
    this.engine = engine
    this.server = server
  }

  /**
   * Opens `module`, which reports without end; kills the browser `delayMs` after report number `reportsMin`, and
   * resolves to all reports that it got out.
   */
  async workUntilKilled(module, settings, { reportsMin, delayMs }) {
    const { reports } = await this.#open(module, settings)
    const received = []
    while (received.length < reportsMin) received.push(await reports.next())
    await new Promise((resolve) => setTimeout(resolve, delayMs))
    await this.#browser.kill()
    this.#browser = null
    return [...received, ...reports.rest()]
  }

  /** Opens `module`, in a new browser if the last one was killed, and resolves to its first report. */
  async ask(module, settings) {
    const { tab, reports } = await this.#open(module, settings)
    const report = await reports.next()
    await tab.close()
    return report
  }

  async close() {
    await this.#browser?.close()
    removeFolder(this.#profile)
  }

  async #open(module, settings) {
    this.#browser ??= await this.engine.launch({ profile: this.#profile, durable: true })
    const { url, reports } = this.server.page(module, settings)
    return { tab: await this.#browser.open(url), reports }
  }
}
