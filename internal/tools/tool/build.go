package tool

// Build turns a call without references into a request. The request's URL has the registered scheme, host and port,
// the path prefix of the server or of the operation, and exactly the template's segments. A call that would break this is refused
// with ErrRequest or ErrArguments. All headers are decided here.
func Build(s Server, op Operation, a Arguments) (Request, error) {
	if missing := s.MissingKeys(op); len(missing) > 0 {
		return Request{}, wrongArguments("key", Because("problem.no_keys", "places", Auth(missing)), "headers")
	}
	to, err := URL(s, op, a)
	if err != nil {
		return Request{}, err
	}
	r := Request{
		Origin: s.At(op), Method: op.Method, URL: to,
		Header: map[string]string{acceptHeader: usualAccept},
	}
	if err := addHeaders(&r, op, a.Headers); err != nil {
		return Request{}, err
	}
	err = addBody(&r, op, a)
	return r, err
}
