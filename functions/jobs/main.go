// Command jobs starts, stops and reads the jobs of agents: POST /api/agents/{name}/jobs, and the routes below /api/jobs.
package main

import "piloto/internal/boot"

func main() { boot.StartJobs() }
