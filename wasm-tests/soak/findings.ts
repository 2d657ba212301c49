// What has gone wrong: kept as sentences, the first ones whole and the others counted.

const KEPT_MAX = 20

export class Findings {
  readonly sentences: string[] = []
  count = 0

  /** Notes `sentence` unless `holds`. */
  check(holds: boolean, sentence: () => string): void {
    if (!holds) this.add(sentence())
  }

  add(sentence: string): void {
    this.count += 1
    if (this.sentences.length < KEPT_MAX) this.sentences.push(sentence)
  }
}
