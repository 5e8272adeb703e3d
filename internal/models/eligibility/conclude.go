package eligibility

import "cmp"

// Conclusion says whether the model writes about the outcome of a plan after its run.
type Conclusion string

// The values of a Conclusion. An empty one means that the wider setting is in force.
const (
	ConcludeOn  Conclusion = "on"
	ConcludeOff Conclusion = "off"
)

// Concludes reports whether the model writes about the outcomes of the plans of a chat. The chat decides, or else the
// assistant of its project, or else that of the account. By default it does.
func (s Settings) Concludes(projectID string, chat Conclusion) bool {
	project := Conclusion("")
	if projectID != "" {
		project = s.Assistants[projectID].Conclude
	}
	return cmp.Or(chat, project, s.Assistants[""].Conclude, ConcludeOn) != ConcludeOff
}
