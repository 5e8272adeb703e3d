package reach

import "io/fs"

// inode returns 0: the system does not tell it with the rest.
func inode(fs.FileInfo) uint64 { return 0 }
