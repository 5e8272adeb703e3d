package secretsmanager

// Hold keeps every write waiting until release is called: the file stays as it
// is, and with it what a backup copies of it. Readers go on.
func (e *Engine) Hold() (release func()) {
	e.writing.Lock()
	return e.writing.Unlock
}
