// Command files has the files of projects and of chats: the routes below /api/projects/{id}/files and
// /api/chats/{id}/files, and a model's file tools, for the functions that invoke it.
package main

import "piloto/internal/boot/files"

func main() { files.Start() }
