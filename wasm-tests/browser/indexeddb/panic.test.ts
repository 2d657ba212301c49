import "../../shared/panic/indexeddb.js"
