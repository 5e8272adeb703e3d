// Command chat answers one turn of a conversation: POST /api/send and POST /operator/chat.
package main

import "piloto/internal/boot/tools"

func main() { tools.StartChat() }
