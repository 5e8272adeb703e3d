package conversation

// ChatChange is what somebody changes of a chat: nil leaves a part as it is.
type ChatChange struct {
	Title      *string
	ProjectID  *string // "" takes the chat out of its project
	Automation *string // "" is as the assistant says
}
