package secretsmanager

// Hold blocks every write until release is called, so that the file does not change during a
// backup. Readers continue.
func (e *Engine) Hold() (release func()) {
	e.writing.Lock()
	return e.writing.Unlock
}
