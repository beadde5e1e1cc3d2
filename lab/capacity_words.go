package lab

var capacityGroup = Group{
	ID: "capacity", Name: "Capacity scheduler",
}
