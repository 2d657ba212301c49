// Telling the other tabs, and being told, that there is something new to look at.

const channel = new BroadcastChannel("field-notes")

/** Tells every other context of this origin. */
export function tellOthers() {
  channel.postMessage("changed")
}

/** Calls `listener` when another context tells. */
export function onTold(listener) {
  channel.onmessage = () => listener()
}
