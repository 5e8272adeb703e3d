package eligibility

import "cmp"

// Conclusion says whether the model tells, after a run of a plan, what came of it.
type Conclusion string

// The values of a Conclusion. An empty one means that the wider setting is in force.
const (
	ConcludeOn  Conclusion = "on"
	ConcludeOff Conclusion = "off"
)

// Concludes reports whether the model tells what came of the plans of a chat: as the chat says, or else the assistant of
// its project, or else that of the account. It does when none of them says it.
func (s Settings) Concludes(projectID string, chat Conclusion) bool {
	project := Conclusion("")
	if projectID != "" {
		project = s.Assistants[projectID].Conclude
	}
	return cmp.Or(chat, project, s.Assistants[""].Conclude, ConcludeOn) != ConcludeOff
}
