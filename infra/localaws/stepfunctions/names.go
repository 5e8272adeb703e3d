package stepfunctions

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// checkName refuses names that AWS refuses.
func checkName(name string) error {
	switch n := utf8.RuneCountInString(name); {
	case n == 0:
		return invalid(name, "name", "Member must have length greater than or equal to 1")
	case n > maxName:
		return invalid(name, "name", "Member must have length less than or equal to 80")
	}
	bad := !utf8.ValidString(name) ||
		strings.ContainsFunc(name, func(r rune) bool {
			return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune("<>{}[]?*\"#%\\^|~`$&,;:/", r)
		})
	if bad {
		return refuse("InvalidName", "Invalid Name: '%s'", name)
	}
	return nil
}

// account is the account and the region of all ARNs.
type account struct {
	id     string
	region string
}

func (a account) arn(kind, name string) string {
	return "arn:aws:states:" + a.region + ":" + a.id + ":" + kind + ":" + name
}

// splitARN returns the text after arn:…:KIND: of a Step Functions ARN.
func splitARN(arn, kind string) (string, error) {
	parts := strings.SplitN(arn, ":", 7)
	if arn == "" {
		return "", requiredError(kind + "Arn")
	}
	if len(parts) < 7 || parts[0] != "arn" || parts[2] != "states" {
		return "", refuse("InvalidArn", "Invalid Arn: 'Invalid ARN prefix: %s'", arn)
	}
	if parts[5] != kind {
		return "", refuse("InvalidArn", "Invalid Arn: 'Resource type not valid in this context: %s'", parts[5])
	}
	return parts[6], nil
}

// machineName returns the name in a state machine's ARN. It accepts any account; a machine of
// another account does not exist here.
func (a account) machineName(arn string) (string, error) {
	name, err := splitARN(arn, "stateMachine")
	if err != nil {
		return "", err
	}
	if arn != a.arn("stateMachine", name) {
		return "", noMachine(arn)
	}
	return name, nil
}

func noMachine(arn string) error {
	return refuse("StateMachineDoesNotExist", "State Machine Does Not Exist: '%s'", arn)
}

// executionName returns the machine and the name in an execution's ARN.
func (a account) executionName(arn string) (machine, name string, err error) {
	rest, err := splitARN(arn, "execution")
	if err != nil {
		return "", "", err
	}
	machine, name, ok := strings.Cut(rest, ":")
	if !ok || arn != a.arn("execution", rest) {
		return "", "", noExecution(arn)
	}
	return machine, name, nil
}

func noExecution(arn string) error {
	return refuse("ExecutionDoesNotExist", "Execution Does Not Exist: '%s'", arn)
}
