// A browser without BroadcastChannel: loaded before the package, which must not find it.

Reflect.deleteProperty(globalThis, "BroadcastChannel")
if ("BroadcastChannel" in globalThis) throw new Error("BroadcastChannel is still there")
