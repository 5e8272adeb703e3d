package conversation

// ChatChange holds the changed attributes of a chat. nil keeps an attribute.
type ChatChange struct {
	Title      *string
	Pinned     *bool   // true takes it out of the archive
	Archived   *bool   // true ends the pin
	ProjectID  *string // "" removes the chat from its project
	Automation *string // "" means the assistant's mode
	Agent      *string // "" means none
	Conclude   *string // "" means as the assistant says
}

// TakesOver reports whether the change ends that the chat is answered by itself: the answer that is on its way is stopped
// with it.
func (c ChatChange) TakesOver() bool {
	return c.Automation != nil && (*c.Automation == "manual" || *c.Automation == "off")
}
