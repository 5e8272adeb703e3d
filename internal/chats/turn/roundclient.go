package turn

import (
	"strconv"

	"piloto/internal/chats/job"
)

// openCalls returns the calls of a round that the client answers, with ids of the job.
func openCalls(round int, left []job.OpenCall) (list []job.OpenCall) {
	for _, c := range left {
		c.ID = strconv.Itoa(round) + "." + c.ID
		list = append(list, c)
	}
	return list
}

func openObjects(calls []job.OpenCall) []string {
	objects := make([]string, len(calls))
	for i, c := range calls {
		objects[i] = c.Object()
	}
	return objects
}

func openNames(calls []job.OpenCall) []string {
	names := make([]string, len(calls))
	for i, c := range calls {
		names[i] = c.Name
	}
	return names
}
