package intent

import "testing"

// TestAsksAgain: a message for what was refused, and one that only speaks of it, or of something else.
func TestAsksAgain(t *testing.T) {
	tea := Refused{Asked: "pide dos tés", Words: []string{"Crea un pedido", `{"sku":"te","qty":2}`}}
	room := Refused{Asked: "book the north room for Monday", Words: []string{"Book a room", "/bookings", `{"room":"north","day":"monday"}`}}
	water := Refused{Asked: "pide agua y una pizza", Words: []string{"Crea un pedido", `{"items":["agua","pizza"]}`}}
	list := Refused{Asked: "¿qué salas hay?", Words: []string{"Lee las salas", "/rooms"}}
	for _, c := range []struct {
		of   Refused
		asks map[string]bool
	}{{water, map[string]bool{
		"añade una botella de agua":  true,
		"ponme también agua":         true,
		"compra la pizza":            true,
		"ponme una pizza":            true,
		"add some agua con gas":      true,
		"compra pan para la familia": false,
		"pon música":                 false,
		"cuenta qué lleva la pizza":  false,
	}}, {tea, map[string]bool{
		"pide dos tés":                           true,
		"Pide los dos tés, por favor":            true,
		"ahora sí, pídelos":                      true,
		"Cambié de idea":                         true,
		"hazlo":                                  true,
		"hazlo otra vez":                         true,
		"hazlo mañana":                           true,
		"crea el pedido":                         true,
		"haz otra vez el pedido":                 true,
		"vuelve a pedir los dos tés":             true,
		"propón el plan de nuevo":                true,
		"¿puedes hacerlo otra vez?":              true,
		"¿Puedes pedir dos tés?":                 true,
		"¿me pides los dos tés?":                 true,
		"pide dos tés, ¿vale?":                   true,
		"¿Sabes qué? Haz el pedido otra vez.":    true,
		"I changed my mind":                      true,
		"go ahead and do it":                     true,
		"can you do it again?":                   true,
		"do it again, ok?":                       true,
		"prueba otra vez":                        true,
		"No, quería decir: pide los dos tés":     true,
		"¡No! No, I meant crea el pedido":        true,
		"No, quiero decir que no los pidas":      false,
		"no, I want nada":                        false,
		"pon música":                             false,
		"compra pan":                             false,
		"no":                                     false,
		"no pidas té":                            false,
		"no lo propongas otra vez":               false,
		"never again":                            false,
		"gracias":                                false,
		"gracias por el pedido":                  false,
		"gracias, ¿qué tal?":                     false,
		"¿qué hora es?":                          false,
		"pide dos panes":                         false,
		"ahora pide pan":                         false,
		"pide la hora al servidor":               false,
		"¿cuánto cuesta un café en la estación":  false,
		"¿qué es un pedido?":                     false,
		"qué es un pedido":                       false,
		"¿cuánto cuestan dos tés?":               false,
		"¿otra vez?":                             false,
		"¿otra vez un pedido?":                   false,
		"otra vez tú":                            false,
		"cuéntame otra vez el chiste":            false,
		"cuéntame otra vez qué es un pedido":     false,
		"¿puedes explicar el pedido de dos tés?": false,
		"explica el pedido":                      false,
		"busca de nuevo el tiempo":               false,
		"vuelve a la página principal":           false,
		"deja de pedir dos tés":                  false,
		"cancela el pedido":                      false,
		"vale":                                   false,
		"ok":                                     false,
		"sí":                                     false,
		"adelante":                               false,
		"sí, gracias":                            false,
		"once more tell me why":                  false,
		"":                                       false,
	}}, {room, map[string]bool{
		"can you book it after all?":     true,
		"could you book the room again?": true,
		"book the north room after all":  true,
		"please make the booking":        true,
		"I want it after all":            true,
		"shall we book the north room?":  true,
		"what is a room?":                false,
		"is the north room large?":       false,
		"why did you book the room?":     false,
		"tell me the joke again":         false,
		"play the song again":            false,
		"can you explain the booking?":   false,
		"show me the north room again":   false,
		"forget the north room":          false,
		"thanks for the booking":         false,
		"yes":                            false,
		"okay":                           false,
		"sure thing":                     false,
	}}, {list, map[string]bool{
		"¿qué salas hay?":      true,
		"¿y qué salas hay hoy": true,
		"lee las salas":        true,
		"¿qué tiempo hace?":    false,
		"¿qué es una reunión?": false,
	}}} {
		for message, want := range c.asks {
			if got := AsksAgain(message, false, c.of); got != want {
				t.Errorf("%q: %v", message, got)
			}
		}
	}
	for message, want := range map[string]bool{"sí": true, "vale": true, "ok": true, "adelante": true, "yes please": true, "no": false, "gracias": false, "¿vale?": false, "¿qué es un pedido?": false} {
		if got := AsksAgain(message, true, tea); got != want {
			t.Errorf("%q as an answer to a question: %v", message, got)
		}
	}
}
