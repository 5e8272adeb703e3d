package process

import (
	"fmt"
	"os"
	"regexp"

	"go.yaml.in/yaml/v3"
)

// sizing is what the template says of a function that matters only to a process of
// its own.
type sizing struct {
	memory   int    // MB
	logGroup string // "/piloto/STACK/chat"; empty: Lambda's default
}

// sizes reads the sizing of every function, by its logical id. names is what a !Sub
// finds. The template has been read, and is as package template wants it.
func sizes(file string, names map[string]string) (map[string]sizing, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	type properties struct {
		Memory  int `yaml:"MemorySize"`
		Logging struct {
			Group yaml.Node `yaml:"LogGroup"`
		} `yaml:"LoggingConfig"`
		GroupName yaml.Node `yaml:"LogGroupName"`
	}
	var document struct {
		Globals struct {
			Function properties `yaml:"Function"`
		} `yaml:"Globals"`
		Resources map[string]struct {
			Type       string    `yaml:"Type"`
			Properties yaml.Node `yaml:"Properties"`
		} `yaml:"Resources"`
	}
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	functions, groups := map[string]properties{}, map[string]string{}
	for id, r := range document.Resources {
		if r.Type != "AWS::Serverless::Function" && r.Type != "AWS::Logs::LogGroup" {
			continue
		}
		own := properties{Memory: document.Globals.Function.Memory}
		if err := r.Properties.Decode(&own); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", file, id, err)
		}
		if r.Type == "AWS::Logs::LogGroup" {
			groups[id] = substituted(own.GroupName, names)
			continue
		}
		functions[id] = own
	}
	out := map[string]sizing{}
	for id, f := range functions {
		s := sizing{memory: f.Memory, logGroup: substituted(f.Logging.Group, names)}
		if f.Logging.Group.Tag == "!Ref" {
			s.logGroup = groups[f.Logging.Group.Value]
		}
		out[id] = s
	}
	return out, nil
}

var reference = regexp.MustCompile(`\$\{([^!{}][^{}]*)\}`)

// substituted is a text, or what !Sub makes of it.
func substituted(n yaml.Node, names map[string]string) string {
	if n.Tag != "!Sub" {
		return n.Value
	}
	return reference.ReplaceAllStringFunc(n.Value, func(ref string) string { return names[ref[2:len(ref)-1]] })
}
