module mistakes

go 1.26.0
