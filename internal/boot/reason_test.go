package boot

import (
	"strings"
	"testing"
)

func TestReasonNamesTheMissingVariables(t *testing.T) {
	whole := Environment{
		"TABLE_NAME": "t", "OPENAI_BASE_URL": "https://api.openai.com/v1", "GROQ_BASE_URL": "https://groq.test", "KEY_PREFIX": "p/",
		"AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "y", "AWS_ENDPOINT_URL": "http://127.0.0.1:1",
	}
	if _, err := Reason(lambdaWorld(whole), whole); err != nil && strings.Contains(err.Error(), "configuration") {
		t.Fatal(err)
	}
	for _, name := range []string{"TABLE_NAME", "OPENAI_BASE_URL", "GROQ_BASE_URL", "KEY_PREFIX"} {
		e := Environment{}
		for k, v := range whole {
			if k != name {
				e[k] = v
			}
		}
		if _, err := Reason(lambdaWorld(e), e); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("without %s: %v", name, err)
		}
	}
}
