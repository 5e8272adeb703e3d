package machines

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed validate.mjs
var validateScript []byte

// ErrNoValidator reports that asl-validator, or the node that it needs, is not installed.
var ErrNoValidator = errors.New("asl-validator is not installed")

// Validate checks the definition of every case without Refused with asl-validator, an external
// program; folder holds its node_modules. A definition that it refuses though AWS accepts it is
// marked in the case (Unlike), and must be refused.
func Validate(ctx context.Context, folder string) error {
	cases, err := Cases()
	if err != nil {
		return err
	}
	var list []Case
	for _, c := range cases {
		if c.Refused == "" {
			list = append(list, c)
		}
	}
	says, err := inspect(ctx, folder, list)
	if err != nil {
		return err
	}
	var wrong []string
	for i := range list {
		switch c := &list[i]; {
		case c.Unlike != "" && len(says[i]) == 0:
			wrong = append(wrong, c.ID()+" is said to be refused, and is not")
		case c.Unlike == "" && len(says[i]) > 0:
			wrong = append(wrong, c.ID()+": "+strings.Join(says[i], "; "))
		}
	}
	if wrong != nil {
		return fmt.Errorf("asl-validator:\n%s", strings.Join(wrong, "\n"))
	}
	return nil
}

// inspect returns asl-validator's findings for each case.
func inspect(ctx context.Context, folder string, cases []Case) ([][]string, error) {
	node, err := exec.LookPath("node")
	if _, missing := os.Stat(filepath.Join(folder, "node_modules", "asl-validator")); err != nil || missing != nil {
		return nil, ErrNoValidator
	}
	definitions := make([]json.RawMessage, len(cases))
	for i := range cases {
		definitions[i] = json.RawMessage(cases[i].DefinitionText(""))
	}
	in, err := json.Marshal(definitions)
	if err != nil {
		return nil, err
	}
	script, err := os.CreateTemp("", "validate-*.mjs")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(script.Name()) }()
	if _, err := script.Write(validateScript); err != nil {
		return nil, errors.Join(err, script.Close())
	}
	if err := script.Close(); err != nil {
		return nil, err
	}
	var problems bytes.Buffer
	cmd := exec.CommandContext(ctx, node, script.Name(), folder)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), &problems
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("asl-validator: %w: %s", err, problems.Bytes())
	}
	var says [][]string
	if err := json.Unmarshal(out, &says); err != nil || len(says) != len(cases) {
		return nil, fmt.Errorf("asl-validator: %d answers for %d machines, %w", len(says), len(cases), err)
	}
	return says, nil
}
