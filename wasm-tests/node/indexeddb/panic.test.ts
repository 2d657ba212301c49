import "fake-indexeddb/auto"
import "../../shared/panic/indexeddb.js"
