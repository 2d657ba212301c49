//! Turns the text that scripts/engine-text.mjs makes of the engine into the engine again. A module of its own, of two
//! kilobytes: a page meets these 300,000 steps cold, and JavaScript is interpreted then, several times as slow.
//!
//! Nothing here can panic, for that would bring more code than all the rest.

#![cfg_attr(target_arch = "wasm32", no_std)]

use core::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// Enough for an engine that nobody has optimised. What nobody touches takes no room.
const ROOM: usize = 1 << 21;

/// Memory that both sides see. Atomics are plain bytes on one thread, and need no exclusive access.
type Memory = &'static [AtomicU8; ROOM];

static TEXT: [AtomicU8; ROOM] = [const { AtomicU8::new(0) }; ROOM];
static MODULE: [AtomicU8; ROOM] = [const { AtomicU8::new(0) }; ROOM];

/// Characters that stand for bytes are ASCII that is printed, less what a string literal or an HTML page could take
/// amiss. The first two begin pairs.
const FIRST: u8 = b' ';
const FIRST_SINGLE: u8 = b'#';
const LAST: u8 = b'~';

/// Two hex digits for each byte, the most common first, are what the text begins with.
const RANKS: usize = 256;

const PARTS_MAX: usize = 16;
const SHAPES_MAX: usize = 256;
const ITEMS_MAX: usize = 4096;

/// The shape of an instruction that ends a function.
const END: usize = 0;

/// What stands in a shape for an operand, and above: in which part it lies.
const OPERAND: u16 = 256;

/// Room for a function's length, which is known only once its body is there.
const LENGTH_MAX: usize = 5;

/// Where the text goes.
#[unsafe(no_mangle)]
pub extern "C" fn text() -> *const AtomicU8 {
    TEXT.as_ptr()
}

/// Where the module lies then.
#[unsafe(no_mangle)]
pub extern "C" fn module() -> *const AtomicU8 {
    MODULE.as_ptr()
}

/// Unpacks a text of that length: the length of the module.
#[unsafe(no_mangle)]
pub extern "C" fn unpack(length: usize) -> usize {
    characters_into_bytes(length);
    join()
}

/// In their place: there are never more bytes than characters.
fn characters_into_bytes(length: usize) {
    // In the first table what a character stands for by itself, in the others what it does behind a prefix.
    let mut tables = [0; 4 << 7];
    let mut from = Cursor { memory: &TEXT, at: 0 };
    let (mut table, mut code) = (0, FIRST_SINGLE);
    while from.at < 2 * RANKS {
        if !matches!(code, b'"' | b'\'' | b'`' | b'\\' | b'$' | b'<') {
            *at(&mut tables, place(table, code)) = hex(from.next()) << 4 | hex(from.next());
        }
        (table, code) = if code == LAST { (table + 1, FIRST) } else { (table, code + 1) };
    }
    let mut to = Cursor { memory: &TEXT, at: 0 };
    while from.at < length {
        let code = from.next();
        let (table, code) = if code < FIRST + 2 { (code - FIRST + 1, from.next()) } else { (0, code) };
        to.put(*at(&mut tables, place(table, code)));
    }
}

fn place(table: u8, code: u8) -> usize {
    usize::from(table) << 7 | usize::from(code)
}

fn hex(digit: u8) -> u8 {
    if digit <= b'9' { digit - b'0' } else { digit - b'a' + 10 }
}

/// Puts the module together. First come numbers: those of its parts' lengths, how many functions it has, and the shapes
/// that instructions have, which are bytes and places of operands. Then come the parts.
fn join() -> usize {
    let mut head = Cursor { memory: &TEXT, at: 0 };
    let mut parts = [const { Cursor { memory: &TEXT, at: 0 } }; PARTS_MAX];
    let count = head.number();
    let mut start = 0;
    for part in parts.iter_mut().take(count) {
        part.at = start;
        start += head.number();
    }
    let functions = head.number();
    let (mut items, mut ends) = ([0; ITEMS_MAX], [0; SHAPES_MAX]);
    let mut end = 0;
    for shape in 0..head.number() {
        for _ in 0..head.number() {
            *at(&mut items, end) = head.number() as u16;
            end += 1;
        }
        *at(&mut ends, shape) = end;
    }
    // What the parts' places are counted from is known only now.
    parts.iter_mut().for_each(|part| part.at += head.at);
    let [instructions, before, behind, operands @ ..] = &mut parts;
    let end = operands.first().map_or(0, |operand| operand.at);
    let mut module = Cursor { memory: &MODULE, at: 0 };
    module.copy(before, behind.at);
    for _ in 0..functions {
        let mut body = Cursor { memory: &MODULE, at: module.at + LENGTH_MAX };
        let mut start = Cursor { ..body };
        loop {
            let shape = usize::from(instructions.next());
            let first = if shape == 0 { 0 } else { *at(&mut ends, shape - 1) };
            for item in first..*at(&mut ends, shape) {
                let item = *at(&mut items, item);
                if item < OPERAND {
                    body.put(item as u8);
                } else if let Some(operand) = operands.get_mut(usize::from(item - OPERAND)) {
                    while body.put(operand.next()) > 0x7f {}
                }
            }
            if shape == END {
                break;
            }
        }
        let mut length = body.at - start.at;
        while module.put(if length > 0x7f { length as u8 | 0x80 } else { length as u8 }) > 0x7f {
            length >>= 7;
        }
        module.copy(&mut start, body.at);
    }
    module.copy(behind, end);
    module.at
}

/// Reads or writes one byte after another, round and round.
struct Cursor {
    memory: Memory,
    at: usize,
}

impl Cursor {
    fn byte(&mut self) -> &'static AtomicU8 {
        let at = self.at % ROOM;
        self.at += 1;
        element(self.memory.get(at))
    }

    fn next(&mut self) -> u8 {
        self.byte().load(Relaxed)
    }

    /// Gives what it writes.
    fn put(&mut self, byte: u8) -> u8 {
        self.byte().store(byte, Relaxed);
        byte
    }

    fn number(&mut self) -> usize {
        let (mut number, mut shift) = (0, 0);
        loop {
            let digit = self.next();
            number |= usize::from(digit & 0x7f) << shift;
            shift += 7;
            if digit < 0x80 {
                return number;
            }
        }
    }

    fn copy(&mut self, from: &mut Self, end: usize) {
        while from.at < end {
            self.put(from.next());
        }
    }
}

/// An element of an array whose length is a power of two.
fn at<T, const LENGTH: usize>(array: &mut [T; LENGTH], index: usize) -> &mut T {
    element(array.get_mut(index % LENGTH))
}

/// What is always there, as the compiler sees.
fn element<T>(element: Option<T>) -> T {
    match element {
        Some(element) => element,
        #[expect(clippy::empty_loop, reason = "it is not reached, and a panic would bring code")]
        None => loop {},
    }
}

#[cfg(target_arch = "wasm32")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    core::arch::wasm32::unreachable()
}
