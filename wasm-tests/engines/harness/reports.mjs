// What one page has reported, in the order in which it arrived.

export class Reports {
  #arrived = []
  #wanted = null

  /** Takes a report in. */
  add(report) {
    this.#arrived.push(report)
    this.#wanted?.()
  }

  /** The next report; none within `ms` is an error, and so is one that says the page has failed. */
  async next(ms) {
    const report = await this.take(ms)
    if ("failed" in report) throw new Error(`the page has failed: ${report.failed}`)
    return report
  }

  /** The next report, whatever it says; none within `ms` is an error. */
  async take(ms = 45_000) {
    if (this.#arrived.length === 0) await this.#arrival(ms)
    return this.#arrived.shift()
  }

  /** Those that have arrived and have not been asked for. */
  rest() {
    return this.#arrived.splice(0)
  }

  #arrival(ms) {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`the page has reported nothing for ${ms} ms`)), ms)
      this.#wanted = () => {
        clearTimeout(timer)
        this.#wanted = null
        resolve()
      }
    })
  }
}
