// A tab without BroadcastChannel.

import "../page/silent.js"
import "../page/globals.js"
