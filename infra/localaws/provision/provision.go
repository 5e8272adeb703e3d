// Package provision does the work of CloudFormation for tables and state machines: it creates them
// from the template, with the calls of any deployment.
package provision

import (
	"context"
	"errors"
	"fmt"
	"localaws/template"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
)

// Tables creates the template's tables, as a deployment does, and keeps existing ones.
func Tables(ctx context.Context, config aws.Config, t *template.Template, names map[string]string) error {
	client := dynamodb.NewFromConfig(config)
	for _, table := range t.Tables {
		name := names[table.ID]
		_, err := client.CreateTable(ctx, table.CreateTable(name))
		var exists *types.ResourceInUseException
		if errors.As(err, &exists) {
			continue
		}
		if err != nil {
			return fmt.Errorf("table %s: %w", table.ID, err)
		}
		if table.TTL == "" {
			continue
		}
		if _, err := client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
			TableName:               &name,
			TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: &table.TTL, Enabled: aws.Bool(true)},
		}); err != nil {
			return fmt.Errorf("table %s: %w", table.ID, err)
		}
	}
	return nil
}

// Machines creates or updates the template's state machines.
func Machines(ctx context.Context, config aws.Config, t *template.Template, d *template.Deployment, names map[string]string) error {
	client := sfn.NewFromConfig(config)
	for _, m := range t.StateMachines {
		definition, err := t.Definition(m, d)
		if err != nil {
			return err
		}
		arn, text := names[m.ID], string(definition)
		if _, err := client.UpdateStateMachine(ctx, &sfn.UpdateStateMachineInput{StateMachineArn: &arn, Definition: &text}); err == nil {
			continue
		}
		if _, err := client.CreateStateMachine(ctx, &sfn.CreateStateMachineInput{
			Name: aws.String(names[m.ID+".Name"]), Definition: &text,
			RoleArn: aws.String("arn:aws:iam::" + names["AWS::AccountId"] + ":role/" + m.ID),
		}); err != nil {
			return fmt.Errorf("state machine %s: %w", m.ID, err)
		}
	}
	return nil
}
