// A page for tests that evaluate in tabs.

import "../page/globals.js"
