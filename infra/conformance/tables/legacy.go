package tables

func legacyChecks() []Check { return nil }
