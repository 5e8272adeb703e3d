package secretsmanager

import (
	"crypto/rand"
	"errors"
	"slices"
	"time"
)

// writeResult is the response to calls that change a secret.
type writeResult struct {
	ARN           string   `json:",omitempty"`
	Name          string   `json:",omitempty"`
	VersionID     string   `json:"VersionId,omitempty"`
	VersionStages []string `json:",omitempty"`
	DeletionDate  instant  `json:",omitzero"`
}

func (e *Engine) create(r request) (any, error) {
	name, err := r.text("Name", true, 1, maxName)
	if err != nil {
		return nil, err
	}
	if !validName(name) {
		return nil, errName
	}
	description, err := r.text("Description", false, 0, maxDescription)
	if err != nil {
		return nil, err
	}
	text, err := r.value(false)
	if err != nil {
		return nil, err
	}
	token, err := r.token()
	if err != nil {
		return nil, err
	}
	e.writing.Lock()
	defer e.writing.Unlock()
	before, given, err := e.find(name)
	switch {
	case given:
		return nil, errGiven
	case err == nil && before.isDeleted():
		return nil, errScheduled
	case err == nil:
		if used, same := before.findUse(token, text); used && same {
			return writeResult{ARN: before.ARN, Name: name, VersionID: token}, nil
		}
		return nil, refuse("ResourceExistsException", "The operation failed because the secret %s already exists.", name)
	case !errors.Is(err, errNotFound):
		return nil, err
	}
	at := e.now()
	s := &secret{Name: name, ARN: arnPrefix + name + "-" + rand.Text()[:suffixLength], Description: description, Created: at, Changed: at}
	out := writeResult{ARN: s.ARN, Name: name}
	if r.has("SecretString") {
		s, out.VersionID = s.withValue(token, text, at), token
	}
	return out, e.replace(name, s)
}

func (e *Engine) put(r request) (any, error) {
	id, err := r.secretID()
	if err != nil {
		return nil, err
	}
	text, err := r.value(true)
	if err != nil {
		return nil, err
	}
	token, err := r.token()
	if err != nil {
		return nil, err
	}
	var stages []string
	if err := read(r, "VersionStages", &stages); err != nil {
		return nil, err
	}
	if r.has("VersionStages") && !slices.Equal(stages, []string{stageCurrent}) {
		return nil, badParameter("This engine moves %s and %s only", stageCurrent, stagePrevious)
	}
	var out writeResult
	err = e.change(id, func(s *secret) (*secret, error) {
		next, err := s.put(token, text, e.now())
		if err != nil {
			return nil, err
		}
		out = writeResult{ARN: s.ARN, Name: s.Name, VersionID: token}
		if v := next.version(token); v != nil {
			out.VersionStages = v.Stages
		}
		return next, nil
	})
	return out, err
}

// put returns the secret with a new value, or the same secret when that was done before.
func (s *secret) put(token string, text opaque, at time.Time) (*secret, error) {
	if s.isDeleted() {
		return nil, errMarked
	}
	used, same := s.findUse(token, text)
	switch {
	case used && same:
		return s, nil
	case used:
		return nil, refuse("ResourceExistsException",
			"You can't use ClientRequestToken %s because that value is already in use for a version of secret %s.", token, s.ARN)
	}
	return s.withValue(token, text, at), nil
}

func (e *Engine) update(r request) (any, error) {
	id, err := r.secretID()
	if err != nil {
		return nil, err
	}
	description, err := r.text("Description", false, 0, maxDescription)
	if err != nil {
		return nil, err
	}
	text, err := r.value(false)
	if err != nil {
		return nil, err
	}
	token := ""
	if r.has("SecretString") {
		if token, err = r.token(); err != nil {
			return nil, err
		}
	}
	var out writeResult
	err = e.change(id, func(s *secret) (*secret, error) {
		if s.isDeleted() {
			return nil, errMarked
		}
		out = writeResult{ARN: s.ARN, Name: s.Name, VersionID: token}
		next := s
		if token != "" {
			valued, err := s.put(token, text, e.now())
			if err != nil {
				return nil, err
			}
			next = valued
		}
		if r.has("Description") && description != s.Description {
			described := *next
			described.Description, described.Changed = description, e.now()
			next = &described
		}
		return next, nil
	})
	return out, err
}

// The limits of a recovery window, in days.
const (
	leastWindow = 7
	mostWindow  = 30
)

func (e *Engine) remove(r request) (any, error) {
	id, err := r.secretID()
	if err != nil {
		return nil, err
	}
	var force bool
	days := mostWindow
	if err := errors.Join(read(r, "ForceDeleteWithoutRecovery", &force), read(r, "RecoveryWindowInDays", &days)); err != nil {
		return nil, err
	}
	switch {
	case force && r.has("RecoveryWindowInDays"):
		return nil, badParameter("You can't use ForceDeleteWithoutRecovery in conjunction with RecoveryWindowInDays.")
	case days < leastWindow || days > mostWindow:
		return nil, badParameter("The RecoveryWindowInDays value must be between 7 and 30 days (inclusive).")
	}
	at := e.now()
	var out writeResult
	err = e.change(id, func(s *secret) (*secret, error) {
		out = writeResult{ARN: s.ARN, Name: s.Name, DeletionDate: instant(at)}
		if force {
			return nil, nil
		}
		if s.isDeleted() {
			return nil, badRequest("You can't perform this operation on the secret because it was already scheduled for deletion.")
		}
		next := *s
		next.Deleted, next.Gone = at, at.AddDate(0, 0, days)
		out.DeletionDate = instant(next.Gone)
		return &next, nil
	})
	if force && errors.Is(err, errNotFound) { // it is already deleted, as requested
		return writeResult{Name: id, DeletionDate: instant(at)}, nil
	}
	return out, err
}

func (e *Engine) restore(r request) (any, error) {
	id, err := r.secretID()
	if err != nil {
		return nil, err
	}
	var out writeResult
	err = e.change(id, func(s *secret) (*secret, error) {
		out = writeResult{ARN: s.ARN, Name: s.Name}
		if !s.isDeleted() {
			return s, nil
		}
		next := *s
		next.Deleted, next.Gone, next.Changed = time.Time{}, time.Time{}, e.now()
		return &next, nil
	})
	return out, err
}
