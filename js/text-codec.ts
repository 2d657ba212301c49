// UTF-8 for runtimes without a text codec: Jest's jsdom environment has neither class. Only what the generated
// glue calls is here, and only well-formed input comes from the engine.

const REPLACEMENT = 0xfffd

/** The part of `TextDecoder` that the glue uses. */
export interface Decoder {
  decode(bytes?: Uint8Array): string
}

/** The part of `TextEncoder` that the glue uses. */
export interface Encoder {
  encode(text: string): Uint8Array
  encodeInto(text: string, into: Uint8Array): { read: number; written: number }
}

/** Decodes UTF-8; a byte-order mark is kept, as the glue asks for. */
export class FallbackDecoder implements Decoder {
  decode(bytes: Uint8Array = new Uint8Array()): string {
    let text = ""
    for (let at = 0; at < bytes.length; ) {
      const lead = bytes[at++] as number
      const more = lead < 0x80 ? 0 : lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3
      let point = more === 0 ? lead : lead & (0x3f >> more)
      for (let n = 0; n < more; n++) point = (point << 6) | ((bytes[at++] ?? 0) & 0x3f)
      text += String.fromCodePoint(point)
    }
    return text
  }
}

/** Encodes UTF-8; a lone surrogate becomes U+FFFD, as in the standard encoder. */
export class FallbackEncoder implements Encoder {
  encode(text: string): Uint8Array {
    const bytes = new Uint8Array(text.length * 3)
    return bytes.subarray(0, this.encodeInto(text, bytes).written)
  }

  // `into` always has room: the glue reserves three bytes for each UTF-16 unit.
  encodeInto(text: string, into: Uint8Array): { read: number; written: number } {
    let written = 0
    for (const char of text) {
      let point = char.codePointAt(0) as number
      if (point >= 0xd800 && point <= 0xdfff) point = REPLACEMENT
      if (point < 0x80) {
        into[written++] = point
        continue
      }
      const more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3
      into[written++] = ((0xf00 >> (more + 1)) & 0xff) | (point >> (6 * more))
      for (let n = more - 1; n >= 0; n--) into[written++] = 0x80 | ((point >> (6 * n)) & 0x3f)
    }
    return { read: text.length, written }
  }
}
