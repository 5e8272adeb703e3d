// Command router answers one message of a customer by a model's decision: the model's response, or an agent's answer
// (POST /api/agent/chat).
package main

import "piloto/internal/boot/tools"

func main() { tools.StartRouter() }
