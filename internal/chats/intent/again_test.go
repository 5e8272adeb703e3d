package intent

import "testing"

func TestAsksAgain(t *testing.T) {
	about := []string{"pide dos tés", "Crea un pedido", `{"sku":"te","qty":2}`}
	for message, want := range map[string]bool{
		"pide dos tés":                true,
		"Pide los dos tés, por favor": true,
		"ahora sí, pídelos":           true,
		"Cambié de idea":              true,
		"sí":                          true,
		"hazlo":                       true,
		"crea el pedido":              true,
		"I changed my mind":           true,
		"go ahead and do it":          true,
		"no":                          false,
		"no pidas té":                 false,
		"no lo propongas otra vez":    false,
		"never again":                 false,
		"gracias":                     false,
		"gracias, ¿qué tal?":          false,
		"¿qué hora es?":               false,
		"pide la hora al servidor":    false,
		"¿cuánto cuesta un café en la estación": false,
		"": false,
	} {
		if got := AsksAgain(message, about...); got != want {
			t.Errorf("%q: %v", message, got)
		}
	}
}
