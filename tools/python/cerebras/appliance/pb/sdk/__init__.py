"""Messages of the appliance."""
